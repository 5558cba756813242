#!/bin/sh
# Playwright sets this, and then one killed tab takes the whole browser down.
unset MOZ_CRASHREPORTER_SHUTDOWN
exec "$FIREFOX_PATH" "$@"
