"""What a run of the user's own program showed: the process that it runs in, the record of it, and what it says of findings."""
