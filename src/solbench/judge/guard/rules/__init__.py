"""One file a family of rules. To add a rule, add a decorated function, or a file: all of them are loaded."""
