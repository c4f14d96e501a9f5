"""Access control lists: users, what each may do, and the ACL commands.

rules           the errors of rules, and how words become rules
passwords       SHA-256 of passwords, compared in constant time
patterns        the patterns of keys and channels, each with its rights
command_rules   which commands a selector allows
selectors       a selector: commands, keys and channels that go together
users           a user: flags, passwords, selectors
needs           the keys and channels that a request touches
checks          whether a user may run a request, and what a refusal says
log             the log of refusals, ACL LOG
access_control  the users of one server, and who its clients are
acl_file        the text of an ACL file
setuser         ACL SETUSER, GETUSER, DELUSER, LIST, USERS, WHOAMI
load            ACL LOAD, SAVE
cat             ACL CAT, GENPASS, DRYRUN, HELP
documentation   the rows of these commands
"""
