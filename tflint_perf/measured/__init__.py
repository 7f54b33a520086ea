"""What a run of the user's program left on file, and what it says of findings: `run.json`, and findings with its figures."""
