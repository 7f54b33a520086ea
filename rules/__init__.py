"""The rules, a folder for each family: a file for each rule, and beside them what only that family looks for."""
