"""Pictures: previews, text recognition, object detection and captions."""
