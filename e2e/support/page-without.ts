/** Runs in the page before all else: `?without=BroadcastChannel,locks` is a browser that lacks them. */
const missing = new URLSearchParams(location.search).get('without')?.split(',') ?? []
if (missing.includes('BroadcastChannel')) Reflect.deleteProperty(window, 'BroadcastChannel')
if (missing.includes('locks')) Object.defineProperty(navigator, 'locks', { value: undefined })
