"""The language server: what `check` says, in the editor, of the text that stands there."""
