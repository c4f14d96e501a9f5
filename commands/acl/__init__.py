"""Access control lists: users, what each may do, and the ACL commands.

rules           the errors of rules, and how words become rules
selectors       a selector: commands, keys and channels that go together
users           a user: flags, passwords, selectors
checks          what a request needs, whether a user may run it, and what a refusal says
log             the log of refusals, ACL LOG
access_control  the users of one server, and who its clients are
user_limits     the limits of users: connections, requests per second, unread output
acl_file        the text of an ACL file; ACL LOAD, SAVE
administration  ACL SETUSER, GETUSER, DELUSER, LIST, USERS, WHOAMI, CAT, GENPASS, DRYRUN, HELP
"""
