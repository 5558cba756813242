/** Where the gate before the provider says what was accepted last. */
export const CREATED_PATH = '/last-accepted'
/** The address of the chat that alerts go to. */
export const ALERTS_PATH = '/alerts'
