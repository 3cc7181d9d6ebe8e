#!/bin/sh
# pmctl in its image. The kernel drops a signal to process 1 that has no handler for it yet, as a server has none in its
# first moments: tini takes each from the beginning and passes it on, also where a scheduler names this file as the entry.
[ $$ -ne 1 ] || exec tini -- node /opt/pmctl/bin/pmctl.cjs "$@"
exec node /opt/pmctl/bin/pmctl.cjs "$@"
