/** Where the gate before the provider says what was accepted last. */
export const CREATED_PATH = '/last-accepted'
/** Where the chat is that is told of what an operator has to look at. */
export const ALERTS_PATH = '/alerts'
