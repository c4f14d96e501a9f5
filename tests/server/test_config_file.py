"""The configuration file and the command line."""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path

import pytest

from commands.config.configuration import NAMES, Configuration
from server.config_file import (
    OTHER_VARIABLES,
    REWRITE_MARK,
    ConfigurationError,
    load_configuration,
    quote,
    rewrite_configuration,
    rewritten,
    split_words,
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "rillway.conf"


def load(file: Path, text: str, *argv: str) -> Configuration:
    file.write_text(text)
    config, path = load_configuration([str(file), *argv])
    assert path == str(file)
    return config


def refusal(argv: list[str]) -> str:
    with pytest.raises(ConfigurationError) as refused:
        load_configuration(argv)
    return str(refused.value)


# -- reading a file ------------------------------------------------------------------------------


def test_a_file_has_comments_blank_lines_and_directives(file: Path) -> None:
    config = load(file, "# comment\n\n  PORT 7000  \r\n\ttimeout\t5\n#hz 20\n")
    assert (config.port, config.timeout, config.hz) == (7000, 5, 10)


def test_words_may_be_quoted(file: Path) -> None:
    config = load(file, 'requirepass "a b\\x41\\""\nlogfile \'\'\nnotify-keyspace-events ""\n')
    assert config.requirepass == 'a bA"'
    assert config.logfile == ""


def test_a_later_line_wins_and_the_command_line_wins_over_the_file(file: Path) -> None:
    config = load(file, "hz 20\nhz 30\ntimeout 1\n", "--timeout", "2")
    assert (config.hz, config.timeout) == (30, 2)


def test_output_limits_add_up_line_by_line(file: Path) -> None:
    config = load(
        file,
        "client-output-buffer-limit normal 1 2 3\nclient-output-buffer-limit pubsub 4 5 6\n",
    )
    assert config.get("client-output-buffer-limit") == (
        "normal 1 2 3 slave 268435456 67108864 60 pubsub 4 5 6"
    )


def test_bytes_that_are_no_utf8_survive(file: Path) -> None:
    file.write_bytes(b"requirepass p\xff\xc3\xa9\n")
    config, _ = load_configuration([str(file)])
    assert config.requirepass.encode("utf-8", "surrogateescape") == b"p\xff\xc3\xa9"


def test_a_file_may_end_without_a_line_break(file: Path) -> None:
    assert load(file, "hz 20").hz == 20


def test_the_folder_becomes_absolute(file: Path) -> None:
    assert load(file, "dir .\n").dir == os.getcwd()


def test_standard_input_is_read_for_a_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("hz 20\ntimeout x\n"))
    assert refusal(["-"]).startswith("rillway: standard input, line 2:\n    timeout x\n")
    monkeypatch.setattr("sys.stdin", io.StringIO("hz 20\n"))
    config, path = load_configuration(["-", "--timeout", "3"])
    assert (config.hz, config.timeout, path) == (20, 3, None)


def test_without_arguments_everything_is_at_its_default() -> None:
    config, path = load_configuration([])
    assert path is None
    assert {n: config.get(n) for n in NAMES if n != "dir"} == {
        n: Configuration().get(n) for n in NAMES if n != "dir"
    }


# -- include -------------------------------------------------------------------------------------


def test_an_included_file_is_read_in_its_place(file: Path) -> None:
    other = file.with_name("other.conf")
    other.write_text("hz 30\ntimeout 7\n")
    config = load(file, f"hz 20\ntimeout 5\ninclude {other}\ntimeout 6\n")
    assert (config.hz, config.timeout) == (30, 6)


def test_a_pattern_includes_its_matches_in_order_or_none(file: Path) -> None:
    for name, hz in (("2.conf", 40), ("1.conf", 30)):
        (file.parent / "d").mkdir(exist_ok=True)
        (file.parent / "d" / name).write_text(f"hz {hz}\n")
    assert load(file, f"include {file.parent}/d/*.conf\n").hz == 40
    assert load(file, f"include {file.parent}/none/*.conf\n").hz == 10


def test_a_file_that_includes_itself_is_refused(file: Path) -> None:
    other = file.with_name("other.conf")
    other.write_text(f"hz 20\ninclude {file}\n")
    file.write_text(f"include {other}\n")
    assert refusal([str(file)]) == (
        f"rillway: {other}, line 2:\n    include {file}\nthe file includes itself"
    )


def test_an_error_in_an_included_file_names_that_file(file: Path) -> None:
    other = file.with_name("other.conf")
    other.write_text("\nhz x\n")
    file.write_text(f"include {other}\n")
    assert refusal([str(file)]).startswith(f"rillway: {other}, line 2:\n    hz x\n")


# -- what stops the start ------------------------------------------------------------------------


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "missing.conf"
    assert refusal([str(path)]) == f"rillway: cannot read {path}: No such file or directory"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("maxclient 5", "unknown directive 'maxclient'; did you mean 'maxclients'?"),
        ("qqqqqqqq 5", "unknown directive 'qqqqqqqq'"),
        ("hz", "'hz': its value is missing; expected an integer between 1 and 500"),
        ("port 1 2", "'port': wrong number of arguments; expected an integer between 0 and 65535"),
        (
            "port 70000",
            "'port': argument must be between 0 and 65535 inclusive;"
            " expected an integer between 0 and 65535",
        ),
        (
            "socket-mark-id 7",
            "'socket-mark-id': Rillway does not have a choice of where connections come from yet,"
            " only '0' is accepted",
        ),
        ('requirepass "a', "unbalanced quotes, or no blank between a closing quote and a word"),
        ("appendonly maybe", "'appendonly': argument must be 'yes' or 'no'"),
        ("include", "'include': wrong number of arguments; expected one file or pattern"),
    ],
)
def test_a_bad_line_is_named_with_what_was_expected(file: Path, line: str, reason: str) -> None:
    file.write_text(f"hz 10\n\n  {line}\n")
    assert refusal([str(file)]) == f"rillway: {file}, line 3:\n    {line}\n{reason}"


# -- the command line ----------------------------------------------------------------------------


def test_a_word_with_two_hyphens_opens_a_directive() -> None:
    argv = ["--bind", "127.0.0.1", "-::1", "--port", "0", "--save", "", "--requirepass", "a b"]
    config, _ = load_configuration(argv)
    assert config.bind == ["127.0.0.1", "-::1"]
    assert config.port == 0
    assert config.requirepass == "a b"


def test_name_and_value_may_come_in_one_word() -> None:
    assert load_configuration(["--hz 20"])[0].hz == 20


def test_save_alone_means_no_save_points() -> None:
    config, _ = load_configuration(["--save", "--hz", "20"])
    assert (config.get("save"), config.hz) == ("", 20)


def test_save_alone_in_a_file_adds_no_save_points(file: Path) -> None:
    assert load(file, "save\n").get("save") == ""
    assert load(file, "save 900 1\nsave\n").get("save") == "900 1"
    assert load(file, "save\nsave 900 1\n").get("save") == "900 1"
    assert load(file, 'save 900 1\nsave ""\n').get("save") == ""


@pytest.mark.parametrize(
    "line",
    [
        "always-show-logo yes",
        "enable-module-command yes",
        "io-threads 4",
        "crash-log-enabled no",
        "lazyfree-lazy-user-del yes",
        "oom-score-adj-values 0 100 200",
        "bio-cpulist 1,3",
        "lookahead 32",
        "array-sparse-kmax 20",
        "hash-min-template-entries 4",
        "cluster-databases 16",
        "availability-zone eu-1a",
        "dual-channel-replication-enabled yes",
    ],
)
def test_an_inert_directive_keeps_and_names_any_legal_value(file: Path, line: str) -> None:
    config = load(file, f"{line}\n")
    assert config.get(line.partition(" ")[0]) == line.partition(" ")[2]
    assert config.without_effect() == [line]


def test_parameters_of_the_modules_of_redis_8_are_taken_from_a_file(file: Path) -> None:
    config = load(file, "search-threads 4\nbf-error-rate 0.01\n")
    assert config.without_effect() == ["search-threads 4", "bf-error-rate 0.01"]
    rewrite_configuration(str(file), config)
    assert file.read_text().startswith("search-threads 4\nbf-error-rate 0.01\n")


def test_names_of_valkey_set_the_directive_that_they_are_for(file: Path) -> None:
    config = load(
        file,
        "primaryauth secret\nprimaryuser joe\nlog-format legacy\n"
        "commandlog-execution-slower-than 7\ncommandlog-slow-execution-max-len 8\n",
    )
    assert (config.masterauth, config.masteruser, config.log_format) == ("secret", "joe", "text")
    assert (config.slowlog_log_slower_than, config.slowlog_max_len) == (7, 8)
    assert config.without_effect() == []


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("tls-auth-clients-user EMAIL", "must be one of the following: off, CN, URI"),
        ("preload-file rdb:/tmp/other.rdb", "a start from another file than its own"),
        ("cluster-slot-stats-enabled no cpu", "must be one of the following: no, yes, cpu"),
    ],
)
def test_what_must_not_be_without_effect_stops_the_start(
    file: Path, line: str, reason: str
) -> None:
    file.write_text(f"{line}\n")
    assert reason in refusal([str(file)])


def test_an_inert_directive_refuses_a_value_that_redis_refuses(file: Path) -> None:
    file.write_text("io-threads 129\n")
    assert "argument must be between 1 and 128 inclusive" in refusal([str(file)])
    file.write_text("oom-score-adj-values 0 100 2001\n")
    assert "elements must be between -2000 and 2000" in refusal([str(file)])


def test_a_missing_feature_may_be_asked_for_where_a_later_place_takes_it_back(file: Path) -> None:
    assert load(file, "socket-mark-id 7\nhz 20\n", "--socket-mark-id", "0").hz == 20
    file.write_text("socket-mark-id 7\n")
    assert load_configuration([str(file)], {"RILLWAY_SOCKET_MARK_ID": "0"})[0].hz == 10
    assert "only '0' is accepted" in refusal([str(file), "--socket-mark-id", "8"])
    assert "line 1" in refusal([str(file), "--hz", "20"])


def test_commands_are_renamed_line_by_line_and_by_every_place(file: Path) -> None:
    text = 'rename-command CONFIG cfg\nRENAME-COMMAND del ""\n'
    config = load(file, text, "--rename-command", "cfg", "settings")
    assert config.renamed_commands == [("CONFIG", "cfg"), ("del", ""), ("cfg", "settings")]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("rename-command nonsense x", "No such command in rename-command"),
        ("rename-command get set", "Target command name already exists"),
        ("rename-command get", "wrong number of arguments"),
        ("rename-command get a b", "wrong number of arguments"),
        ("rename-command", "its value is missing"),
    ],
)
def test_a_name_that_cannot_be_given_stops_the_start(file: Path, line: str, reason: str) -> None:
    file.write_text(f"hz 20\n{line}\n")
    text = refusal([str(file)])
    assert "line 2" in text and reason in text


def test_a_rewrite_keeps_the_lines_that_rename_commands(file: Path) -> None:
    lines = ["hz 20", 'rename-command DEL ""']
    config = load(file, "\n".join(lines) + "\n", "--rename-command", "GET", "fetch")
    assert rewritten(lines, config)[:2] == lines
    assert not any("fetch" in line for line in rewritten(lines, config))


def test_save_lines_of_one_source_add_up_and_replace_those_before(tmp_path: Path) -> None:
    file = tmp_path / "rillway.conf"
    file.write_text("save 900 1\nsave 300 10 60 100\n")
    assert load_configuration([str(file)])[0].get("save") == "900 1 300 10 60 100"
    argv = [str(file), "--save", "5", "1", "--save", "9", "2"]
    assert load_configuration(argv)[0].get("save") == "5 1 9 2"
    file.write_text('save 900 1\nsave ""\nsave 7 7\n')
    assert load_configuration([str(file)])[0].get("save") == "7 7"


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (["--hz", "x"], "rillway: the command line:\n    --hz x\n'hz': argument couldn't be"),
        (["--nonsense"], "rillway: the command line:\n    --nonsense\nunknown directive"),
        (["--"], "rillway: the command line:\n    --\nunknown directive ''"),
        (["--logfile", "a b", "c"], 'rillway: the command line:\n    --logfile "a b" c\n'),
    ],
)
def test_a_bad_option_is_shown(argv: list[str], text: str) -> None:
    assert refusal(argv).startswith(text)


@pytest.mark.parametrize(
    "argv",
    [["-p", "7000"], ["--port=7000"], ["--port 7000"], ["--hz=20", "-p", "7000"]],
)
def test_the_port_can_be_written_in_several_ways(argv: list[str]) -> None:
    assert load_configuration(argv)[0].port == 7000


def test_a_value_may_have_an_equals_sign_or_look_like_the_port() -> None:
    config, _ = load_configuration(["--requirepass=a=b", "--logfile", "-p", "-p", "7000"])
    assert (config.requirepass, config.logfile, config.port) == ("a=b", "-p", 7000)
    assert load_configuration(["--requirepass x=y"])[0].requirepass == "x=y"
    assert load_configuration(["--save="])[0].save == ()


def test_an_error_of_the_command_line_has_a_status_of_its_own(file: Path) -> None:
    file.write_text("hz x\n")
    for argv, status in [(["--hz", "x"], 2), (["--prot=1"], 2), (["-x"], 2), ([str(file)], 1)]:
        with pytest.raises(ConfigurationError) as refused:
            load_configuration(argv)
        assert refused.value.status == status


def test_of_a_file_that_is_no_text_a_readable_part_is_shown(file: Path) -> None:
    file.write_bytes(b"REDIS0011\xfa\x1b[2J" + bytes(range(11, 256)) * 1000)
    shown = refusal([str(file)])
    assert r"REDIS0011\xfa\x1b[2J" in shown
    assert len(shown) < 5000
    assert all(line.isprintable() for line in shown.split("\n"))


def test_a_second_plain_word_is_refused(file: Path) -> None:
    file.write_text("")
    assert "'other.conf' is neither the first word" in refusal([str(file), "other.conf"])


# -- the environment -----------------------------------------------------------------------------


def test_a_variable_sets_the_directive_of_its_name() -> None:
    config, path = load_configuration([], {"RILLWAY_STREAM_NODE_MAX_ENTRIES": "200", "PORT": "1"})
    assert (config.stream_node_max_entries, config.port, path) == (200, 6379, None)


def test_the_environment_overrides_the_file_and_the_command_line_overrides_both(
    file: Path,
) -> None:
    file.write_text("hz 20\ntimeout 1\ndatabases 3\n")
    environment = {"RILLWAY_HZ": "30", "RILLWAY_TIMEOUT": "2"}
    config, _ = load_configuration([str(file), "--hz", "40"], environment)
    assert (config.hz, config.timeout, config.databases) == (40, 2, 3)


def test_every_source_overrides_a_file_of_defaults(file: Path) -> None:
    defaults = file.with_name("defaults.conf")
    defaults.write_text("hz 20\ntimeout 1\ndatabases 3\ntcp-backlog 4\n")
    file.write_text("timeout 2\n")
    environment = {"RILLWAY_DEFAULTS": str(defaults), "RILLWAY_DATABASES": "5"}
    config, path = load_configuration([str(file), "--tcp-backlog", "6"], environment)
    assert (config.hz, config.timeout, config.databases, config.tcp_backlog) == (20, 2, 5, 6)
    assert path == str(file)  # CONFIG REWRITE writes the user's file


def test_a_variable_may_hold_several_words_where_a_directive_takes_them() -> None:
    environment = {
        "RILLWAY_BIND": "* -::*",
        "RILLWAY_CLIENT_OUTPUT_BUFFER_LIMIT": "normal 1 2 3 pubsub 4 5 6",
        "RILLWAY_SAVE": "",
    }
    config, _ = load_configuration([], environment)
    assert config.bind == ["*", "-::*"]
    assert config.get("client-output-buffer-limit").startswith("normal 1 2 3 ")
    assert config.get("client-output-buffer-limit").endswith(" pubsub 4 5 6")


@pytest.mark.parametrize("password", ["two words", 'it\'s "so"', "back\\slash", "\udcff"])
def test_a_variable_is_one_word_whatever_it_contains(password: str) -> None:
    assert load_configuration([], {"RILLWAY_REQUIREPASS": password})[0].requirepass == password


@pytest.mark.parametrize(
    ("variable", "value", "reason"),
    [
        ("RILLWAY_MAXCLIENT", "5", "unknown directive 'maxclient'; did you mean 'maxclients'?"),
        ("RILLWAY_", "5", "unknown directive ''"),
        ("RILLWAY_INCLUDE", "more.conf", "unknown directive 'include'"),
        (
            "RILLWAY_HZ",
            "x",
            "'hz': argument couldn't be parsed into an integer;"
            " expected an integer between 1 and 500",
        ),
    ],
)
def test_a_variable_that_is_not_understood_is_named(variable: str, value: str, reason: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        load_configuration([], {variable: value})
    assert str(refused.value) == f"rillway: the environment:\n    {variable}={value}\n{reason}"


@pytest.mark.parametrize("variable", OTHER_VARIABLES)
def test_variables_that_are_not_for_the_server_are_left_alone(variable: str) -> None:
    assert load_configuration([], {variable: "x"}) == load_configuration([])


def test_what_kubernetes_and_docker_say_of_a_service_named_rillway_is_no_configuration() -> None:
    environment = {
        "RILLWAY_SERVICE_HOST": "10.0.0.7",
        "RILLWAY_SERVICE_PORT": "6379",
        "RILLWAY_SERVICE_PORT_REDIS": "6379",
        "RILLWAY_PORT": "tcp://10.0.0.7:6379",
        "RILLWAY_PORT_6379_TCP": "tcp://10.0.0.7:6379",
        "RILLWAY_PORT_6379_TCP_ADDR": "10.0.0.7",
        "RILLWAY_NAME": "/app/rillway",
        "RILLWAY_ENV_GREETING": "hello\nworld",
    }
    assert load_configuration([], environment) == load_configuration([])
    assert load_configuration([], {"RILLWAY_PORT": "7000"})[0].port == 7000


# -- words ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "word", ["plain", "", "two words", 'a"b', "a'b", "a\\b", "\n\x00\x7f", "é", "\udcff", "#x"]
)
def test_a_quoted_word_is_read_back(word: str) -> None:
    assert split_words(f"name {quote(word)} 1") == ["name", word, "1"]


def test_words_that_need_no_quotes_get_none() -> None:
    assert quote("/var/log/x.log") == "/var/log/x.log"
    assert quote("") == '""'


# -- rewriting -----------------------------------------------------------------------------------


def configured(**values: str) -> Configuration:
    config = Configuration()
    for name, text in values.items():
        config.set(name.replace("_", "-"), [text])
    return config


def test_nothing_changes_where_nothing_has_changed() -> None:
    lines = ["# mine", "", "port   6379 ", "HZ 20", "appendonly no", "include more.conf"]
    assert rewritten(lines, configured(hz="20")) == lines


def test_a_changed_directive_is_replaced_in_its_place() -> None:
    lines = ["# mine", "hz 20", "timeout 5"]
    assert rewritten(lines, configured(hz="30", timeout="5")) == ["# mine", "hz 30", "timeout 5"]


def test_a_directive_that_went_back_to_its_default_keeps_its_line() -> None:
    assert rewritten(["hz 20"], Configuration()) == ["hz 10"]


def test_of_several_lines_the_last_one_stays() -> None:
    assert rewritten(["hz 20", "timeout 5", "hz 30"], configured(hz="40", timeout="5")) == [
        "timeout 5",
        "hz 40",
    ]


def test_what_the_file_did_not_have_is_appended_below_a_mark_that_comes_once() -> None:
    once = rewritten(["# mine"], configured(hz="20"))
    assert once == ["# mine", REWRITE_MARK, "hz 20"]
    twice = rewritten(once, configured(hz="20", timeout="5"))
    assert twice == ["# mine", REWRITE_MARK, "hz 20", "timeout 5"]


def test_an_alias_is_rewritten_under_the_name_of_the_directive() -> None:
    assert rewritten(["lua-time-limit 7"], configured(busy_reply_threshold="7")) == [
        "lua-time-limit 7"
    ]
    assert rewritten(["lua-time-limit 7"], configured(busy_reply_threshold="8")) == [
        "busy-reply-threshold 8"
    ]


def test_a_line_that_was_spoilt_since_the_start_is_replaced() -> None:
    assert rewritten(["hz nonsense"], configured(hz="20")) == ["hz 20"]


def test_values_are_quoted_where_they_must_be() -> None:
    config = configured(requirepass='a "b"', bind="127.0.0.1 ::1")
    assert rewritten([], config) == [
        REWRITE_MARK,
        "bind 127.0.0.1 ::1",
        'requirepass "a \\"b\\""',
    ]


def test_a_rewritten_file_gives_the_same_configuration(file: Path) -> None:
    config = load(
        file,
        "hz 20\nclient-output-buffer-limit normal 1mb 1 2\n# end\n",
        "--requirepass", "p \n q", "--notify-keyspace-events", "KEA", "--timeout", "9",
    )  # fmt: skip
    config.set("client-output-buffer-limit", ["pubsub 7 8 9"])
    config.set("hz", ["33"])
    rewrite_configuration(str(file), config)
    assert load_configuration([str(file)])[0] == config
    assert "# end\n" in file.read_text()


def test_limits_of_users_survive_a_rewrite(file: Path) -> None:
    text = "user-limit ann connections 1\nuser-limit bob output-buffer 1mb\n"
    config = load(file, text)
    assert rewritten(text.splitlines(), config)[:2] == text.splitlines()
    config.set("user-limit", ["ann connections 0 requests-per-second 5"])
    config.set("audit-events", ["keys-removed auth"])
    rewrite_configuration(str(file), config)
    assert load_configuration([str(file)])[0] == config
    assert "audit-events auth,keys-removed\n" in file.read_text()
    config.set("user-limit", ["ann connections 0 bob connections 0"])
    rewrite_configuration(str(file), config)
    assert "user-limit" not in file.read_text()
    assert config.get("user-limit") == ""


def test_a_rewrite_keeps_permissions_and_follows_a_symbolic_link(file: Path) -> None:
    file.write_text("hz 20\n")
    file.chmod(0o640)
    link = file.with_name("link.conf")
    link.symlink_to(file)
    rewrite_configuration(str(link), configured(hz="30"))
    assert link.is_symlink()
    assert file.read_text() == "hz 30\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert sorted(os.listdir(file.parent)) == ["link.conf", "rillway.conf"]


def test_a_failed_rewrite_leaves_the_file_unchanged(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text("hz 20\n")

    def refuse(source: str, target: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="No space left"):
        rewrite_configuration(str(file), configured(hz="30"))
    assert file.read_text() == "hz 20\n"
    assert os.listdir(file.parent) == ["rillway.conf"]


def test_only_line_feeds_end_lines(file: Path) -> None:
    text = "# form\x0cfeed \x85 \u2028 \r\nhz 20\r\n"
    file.write_bytes(text.encode())
    rewrite_configuration(str(file), configured(hz="20"))
    assert file.read_bytes() == text.encode()


def test_a_rewrite_makes_a_file_that_has_vanished(file: Path) -> None:
    rewrite_configuration(str(file), configured(hz="30"))
    assert file.read_text() == f"{REWRITE_MARK}\nhz 30\n"


def test_a_node_of_a_cluster_keeps_its_primary_out_of_the_file() -> None:
    config = configured(**{"cluster-enabled": "yes"})
    config.replicaof = ("127.0.0.1", 7001)
    assert rewritten(["cluster-enabled yes"], config) == ["cluster-enabled yes"]


def test_rewriting_writes_the_primary_and_takes_it_away(tmp_path: Path) -> None:
    path = tmp_path / "redis.conf"
    path.write_text('port 1\nslaveof old 1\nsave ""\n')
    config = Configuration()
    config.set("port", ["1"])
    config.set("save", [""])
    config.set("replicaof", ["10.0.0.1", "7001"])
    rewrite_configuration(str(path), config)
    assert path.read_text() == 'port 1\nreplicaof 10.0.0.1 7001\nsave ""\n'
    config.replicaof = None
    rewrite_configuration(str(path), config)
    assert path.read_text() == 'port 1\nsave ""\n'
