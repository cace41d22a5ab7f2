"""What assistants may ask of a vault, over the Model Context Protocol. Read only."""
