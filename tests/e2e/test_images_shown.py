"""Images in a real agent: one that the prompt names, one that a tool reads, and one that no provider takes."""

from __future__ import annotations

import base64
import json

from launching import World

from holdfast.testing.script import Call, Say
from shown_images import png


def test_an_image_is_sent_on_every_wire_and_an_unsupported_one_is_reported(world: World) -> None:
    (world.folder / "shot.png").write_bytes(png(40, 30))
    (world.folder / "found.png").write_bytes(png(50, 60))
    (world.folder / "bad.png").write_bytes(b"no image")
    world.script((Call("read", {"path": "found.png"}),), (Say("two shades of blue"),), (Say("still blue"),))
    done = world.ask("compare @shot.png and @bad.png with found.png")
    assert done.code == 0, done.err
    assert "File 'bad.png' is not a supported image" in done.err
    assert world.run("-c", "-p", "are you sure?").code == 0
    first, second, third = (json.dumps(json.loads(each.raw)) for each in world.provider.requests)
    named, found = (base64.b64encode(png(*size)).decode() for size in ((40, 30), (50, 60)))
    assert named in first
    assert found not in first
    assert all(each in after for after in (second, third) for each in (named, found))
    assert "Image found.png (PNG, 50 x 60 pixels" in second
