"""Why a wall does not work on a machine, and what to do: by what bubblewrap or the kernel message. Pure."""

from __future__ import annotations

from typing import NamedTuple


class Obstacle(NamedTuple):
    """Why a wall does not work, and the remedy, which names what to install or to load."""

    reason: str
    remedy: str


APPARMOR = (
    "Ubuntu lets only programs with a profile make user namespaces. Install the profile of bubblewrap: "
    "sudo apt install apparmor-profiles, then sudo ln -s /usr/share/apparmor/extra-profiles/bwrap-userns-restrict "
    "/etc/apparmor.d/ and sudo systemctl reload apparmor."
)
_SETTING = "Let users make namespaces: sudo sysctl -w {setting}."
_NESTED = (
    "A sandbox or container around holdfast allows no further one. Start holdfast outside of it, or let that one be "
    "the wall."
)

NOT_INSTALLED = Obstacle(
    "bubblewrap is not installed", "Install bubblewrap (Debian, Ubuntu, Fedora, Arch: the package bubblewrap)."
)


def foreign_folder(folder: str, owner: str) -> Obstacle:
    """Return why bubblewrap cannot be used by root in a folder of another user."""
    return Obstacle(
        f"folder {folder!r} belongs to user {owner}, and in bubblewrap root has no right to the files of others",
        f"Start holdfast as user {owner}, or give the folder to root: chown.",
    )


def bubblewrap_obstacle(  # noqa: PLR0911 - one for each obstacle
    stderr: str, *, is_setuid: bool, is_restricted: bool, clone_off: bool
) -> Obstacle:
    """Return why bubblewrap failed. `is_restricted`: AppArmor's setting is on; `clone_off`: the kernel's switch is."""
    line = next((each for each in stderr.splitlines() if each.startswith("bwrap:")), stderr.strip()[:200])
    message = line.removeprefix("bwrap:").strip() or "it ended without a word"
    if is_setuid:
        return Obstacle(
            f"bubblewrap is installed setuid root, and refuses --disable-userns then: {message}",
            "Remove the bit, which no current kernel needs: sudo chmod u-s $(command -v bwrap).",
        )
    if "Unknown option" in message or "unrecognized option" in message.lower():
        return Obstacle(f"bubblewrap is too old: {message}", "Install bubblewrap 0.8.0 or later.")
    if is_restricted and ("setting up uid map" in message or "RTM_NEWADDR" in message or "ermission denied" in message):
        return Obstacle(f"AppArmor refuses user namespaces to bubblewrap: {message}", APPARMOR)
    if clone_off:
        return Obstacle(
            f"the kernel refuses user namespaces: {message}",
            _SETTING.format(setting="kernel.unprivileged_userns_clone=1"),
        )
    if "No space left" in message or "ENOSPC" in message:
        return Obstacle(f"user namespaces are used up or switched off: {message}", _NESTED)
    if "Operation not permitted" in message or "Read-only file system" in message or "No permissions" in message:
        return Obstacle(f"something around holdfast refuses namespaces: {message}", _NESTED)
    return Obstacle(f"bubblewrap failed: {message}", "Run it by hand to see more: bwrap --ro-bind / / true")


def landlock_obstacle(abi: int, *, machine: str, is_known: bool, least: int) -> Obstacle | None:
    """Return why Landlock cannot be used, None if it can."""
    if not is_known:
        return Obstacle(f"there is no filter for the architecture {machine}", "Install bubblewrap on another machine.")
    if abi == 0:
        return Obstacle("the kernel has no Landlock, or it is switched off", "Boot with lsm=landlock,… (Linux 6.12+).")
    if abi < least:
        return Obstacle(
            f"Landlock has version {abi}, and signals are confined from version {least} on", "Use Linux 6.12 or later."
        )
    return None
