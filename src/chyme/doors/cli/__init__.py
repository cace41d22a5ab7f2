"""The command line: each command parses its options, calls one function and prints the result."""
