"""Documentation of the commands of connections (commands/core/documentation.py)."""

from __future__ import annotations

from commands.core.documentation import Row

GROUP = "connection"
SINCE = "1.0.0"

_FILTER = (
    "[ID client-id] | [TYPE <NORMAL | MASTER | SLAVE | REPLICA | PUBSUB>] | [USER username] |"
    " [ADDR ip:port] | [LADDR ip:port] | [SKIPME <YES | NO>] | [MAXAGE maxage]"
)

ROWS = {
    "AUTH": Row(
        "Authenticates the connection.",
        "[username] password",
        complexity="O(N) where N is the number of the user's passwords.",
        history=[("6.0.0", "Added the name of a user.")],
    ),
    "CLIENT": Row("Groups the commands about connections.", since="2.4.0"),
    "CLIENT CACHING": Row(
        "Turns tracking on (OPTIN) or off (OPTOUT) for the next request.",
        "<YES | NO>",
        since="6.0.0",
    ),
    "CLIENT GETNAME": Row("Returns the connection's name.", since="2.6.9"),
    "CLIENT GETREDIR": Row(
        "Returns the ID of the client that gets this connection's invalidation messages.",
        since="6.0.0",
    ),
    "CLIENT HELP": Row("Explains the sub-commands.", since="5.0.0"),
    "CLIENT ID": Row("Returns the connection's ID, which is unique.", since="5.0.0"),
    "CLIENT INFO": Row(
        "Describes this connection as CLIENT LIST does.",
        since="6.2.0",
        tips=["nondeterministic_output"],
    ),
    "CLIENT KILL": Row(
        "Closes connections.",
        f"<ip:port | <{_FILTER} [{_FILTER} ...]>>",
        complexity="O(N) where N is the number of connections.",
    ),
    "CLIENT LIST": Row(
        "Describes the connections, one line for each.",
        "[TYPE <NORMAL | MASTER | REPLICA | PUBSUB>] [ID client-id [client-id ...]]",
        complexity="O(N) where N is the number of connections.",
        tips=["nondeterministic_output"],
    ),
    "CLIENT NO-EVICT": Row(
        "Spares the connection when clients are closed to save memory.",
        "<ON | OFF>",
        since="7.0.0",
    ),
    "CLIENT NO-TOUCH": Row(
        "Lets the connection read keys without changing their idle time.",
        "<ON | OFF>",
        since="7.2.0",
    ),
    "CLIENT PAUSE": Row("Postpones requests for a while.", "timeout [WRITE | ALL]", since="2.9.50"),
    "CLIENT REPLY": Row(
        "Turns replies on or off, or skips the next one.",
        "<ON | OFF | SKIP>",
        since="3.2.0",
    ),
    "CLIENT SETINFO": Row(
        "Sets the name and version of the client library.",
        "<LIB-NAME libname | LIB-VER libver>",
        since="7.2.0",
    ),
    "CLIENT SETNAME": Row(
        "Names the connection; an empty name removes the name.",
        "connection-name",
        since="2.6.9",
    ),
    "CLIENT TRACKING": Row(
        "Turns invalidation messages for keys that the connection read on or off.",
        (
            "<ON | OFF> [REDIRECT client-id] [PREFIX prefix [PREFIX prefix ...]] [BCAST] [OPTIN]"
            " [OPTOUT] [NOLOOP]"
        ),
        complexity="O(1); with BCAST, O(N) where N is the number of prefixes.",
        since="6.0.0",
    ),
    "CLIENT TRACKINGINFO": Row("Describes the connection's tracking mode.", since="6.2.0"),
    "CLIENT UNBLOCK": Row(
        "Ends another client's wait for a key.",
        "client-id [TIMEOUT | ERROR]",
        since="5.0.0",
    ),
    "CLIENT UNPAUSE": Row(
        "Ends a CLIENT PAUSE and runs the postponed requests.",
        complexity="O(N) where N is the number of clients held back.",
        since="6.2.0",
    ),
    "ECHO": Row("Answers the message it is given.", "message"),
    "HELLO": Row(
        "Opens a conversation: protocol version, authentication and name in one.",
        "[protover [AUTH username password] [SETNAME clientname]]",
        since="6.0.0",
    ),
    "PING": Row(
        "Answers PONG, or the message it is given.",
        "[message]",
        tips=["request_policy:all_shards", "response_policy:all_succeeded"],
    ),
    "QUIT": Row("Closes the connection.", deprecated=("7.2.0", "just closing the connection")),
    "RESET": Row("Puts the connection back into the state of a new one.", since="6.2.0"),
    "SELECT": Row("Changes the connection's database.", "index"),
}
