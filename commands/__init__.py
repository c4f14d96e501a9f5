"""The commands: one plain function per command, no I/O, no clock, no chance.

core/ is what all commands are built on, config/ the directives. Every other
folder is a family of commands.
"""
