"""The parts joined into one application, for every door alike."""
