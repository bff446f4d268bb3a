"""The commands, for click."""

import click

from .check import check
from .inspect import inspect
from .serve import serve
from .trace import trace

__all__ = ["cli"]


@click.group()
@click.version_option(package_name="sansmcp")
def cli() -> None:
    """The Model Context Protocol, seen working."""


for command in (inspect, serve, check, trace):
    cli.add_command(command)
