"""One `.py` file or notebook as Python text with places, and edits back into the file's own bytes."""
