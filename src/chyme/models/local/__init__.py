"""The language model that runs on this machine."""
