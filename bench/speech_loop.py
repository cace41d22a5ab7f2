"""faster-whisper, called directly on one recording after the other, in the way its own page recommends.

Usage: python -m bench.speech_loop MODEL THREADS FILE …; the last line maps each file to its text.
"""

from __future__ import annotations

import json
import sys


def main() -> None:
    from faster_whisper import WhisperModel  # type: ignore[import-untyped]

    model = WhisperModel(sys.argv[1], device="cpu", compute_type="int8", cpu_threads=int(sys.argv[2]))
    texts = {}
    for path in sys.argv[3:]:
        segments, _ = model.transcribe(path, beam_size=5, vad_filter=True, word_timestamps=True)
        texts[path] = " ".join(segment.text.strip() for segment in segments)
    print("\n" + json.dumps(texts))


if __name__ == "__main__":
    main()
