"""Audio and video files: containers, tags, posters, waveforms."""
