"""Pictures: decoded within limits, turned upright, written small."""
