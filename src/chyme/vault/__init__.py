"""The vault's files: registered, moved, renamed, vanished, in the trash, private."""
