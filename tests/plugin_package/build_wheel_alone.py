"""Builds the wheel of the package with Python alone, so that it can be installed where nothing can be downloaded."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

INFO = "holdfast_shop-1.0.dist-info"
METADATA = {
    "METADATA": "Metadata-Version: 2.1\nName: holdfast-shop\nVersion: 1.0\n",
    "WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "entry_points.txt": "[holdfast.plugins]\nshop = holdfast_shop\n",
}


def build_wheel(wheel_directory: str, config_settings: object = None, metadata_directory: str | None = None) -> str:
    """Write the wheel, and return its name: the hook that pip calls."""
    del config_settings, metadata_directory
    name = "holdfast_shop-1.0-py3-none-any.whl"
    with ZipFile(Path(wheel_directory) / name, "w") as wheel:
        for file in sorted(Path("holdfast_shop").glob("*.py")):
            wheel.write(file, file.as_posix())
        for file, text in METADATA.items():
            wheel.writestr(f"{INFO}/{file}", text)
        wheel.writestr(f"{INFO}/RECORD", "".join(f"{each},,\n" for each in wheel.namelist()) + f"{INFO}/RECORD,,\n")
    return name
