"""Policies of streams and groups: what the server does by itself. Rillway's own.

timer:            when the features act, one timer for all of them, on a primary only
carrier:          how policies reach the append-only file and replicas
report:           XINFO POLICY, and the section `policies` of INFO
retention:        which entries a stream keeps
group_config:     XGROUP CONFIG, the delivery policy of a group
group_deliveries: what the timer does for groups: wakes readers, moves dead letters
consumer_expiry:  removes idle consumers
dead_letters:     entries that a group gives up
schedule:         XADD with DELAY and AT, XSCHEDULED, XUNSCHEDULE
appearance:       adds scheduled entries when they are due
"""
