"""Documentation of the ACL commands (commands/core/documentation.py)."""

from __future__ import annotations

from commands.core.documentation import Row

GROUP = "server"
SINCE = "6.0.0"

_ALL_NODES = ["request_policy:all_nodes", "response_policy:all_succeeded"]
_EACH_USER = "O(N) where N is the number of users."

ROWS = {
    "ACL": Row("Groups the commands about users.", complexity="Depends on the sub-command."),
    "ACL CAT": Row(
        "Lists the categories of commands, or the commands of one.",
        "[category]",
        complexity="O(1): categories and commands are a fixed set.",
    ),
    "ACL DELUSER": Row(
        "Removes users, and closes their connections.",
        "username [username ...]",
        complexity="O(1) for each user and each connection.",
        tips=_ALL_NODES,
    ),
    "ACL DRYRUN": Row(
        "Returns whether a user may run a command, which is not run.",
        "username command [arg [arg ...]]",
        since="7.0.0",
    ),
    "ACL GENPASS": Row("Returns a random password.", "[bits]"),
    "ACL GETUSER": Row(
        "Returns the rules of a user.",
        "username",
        complexity="O(N) where N is the number of rules.",
        history=[
            ("6.2.0", "Added patterns of channels."),
            ("7.0.0", "Added selectors; keys and channels are text instead of lists."),
        ],
    ),
    "ACL HELP": Row("Explains the sub-commands."),
    "ACL LIST": Row("Lists the users as lines of an ACL file.", complexity=_EACH_USER),
    "ACL LOAD": Row("Replaces all users by those of the ACL file.", complexity=_EACH_USER),
    "ACL LOG": Row(
        "Lists the latest refusals, or forgets them.",
        "[count | RESET]",
        complexity="O(N) where N is the number of entries.",
        history=[("7.2.0", "Added the entry's ID and the times when it was made and renewed.")],
    ),
    "ACL SAVE": Row("Writes the users to the ACL file.", complexity=_EACH_USER, tips=_ALL_NODES),
    "ACL SETUSER": Row(
        "Makes or changes a user.",
        "username [rule [rule ...]]",
        complexity="O(N) where N is the number of rules.",
        history=[
            ("6.2.0", "Added patterns of channels."),
            ("7.0.0", "Added selectors and rights for keys."),
        ],
        tips=_ALL_NODES,
    ),
    "ACL USERS": Row("Lists the names of the users.", complexity=_EACH_USER),
    "ACL WHOAMI": Row("Returns the name of the connection's user."),
}
