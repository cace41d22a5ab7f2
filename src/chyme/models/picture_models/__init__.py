"""Models for pictures in a folder of the user's: captioners, and models that compare pictures with words (CLIP)."""
