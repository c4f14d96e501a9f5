"""TLS: what the files of the `tls-` directives say, and connections that are encrypted with it.

contexts      the settings of OpenSSL for the two sides of a connection
credentials   the contexts in force, read again when the files change
handshakes    accepted connections, until they are encrypted
transport     between the socket of a client and its connection
"""
