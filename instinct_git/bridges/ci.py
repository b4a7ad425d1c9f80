"""Is this a run of a service for continuous integration? Told by what such services set in the environment."""

from __future__ import annotations

from collections.abc import Mapping

VARIABLES = ("CI", "JENKINS_URL", "TF_BUILD", "TEAMCITY_VERSION", "CODEBUILD_BUILD_ID")
"""`faces/hook.py`, which imports nothing, has the same."""


def running(environ: Mapping[str, str]) -> bool:
    """True where one of the variables is set to anything but a no."""
    return any(environ.get(name, "").lower() not in ("", "0", "false", "no") for name in VARIABLES)
