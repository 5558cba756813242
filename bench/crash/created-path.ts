/** Where the gate before the provider says what was accepted last. */
export const CREATED_PATH = '/last-accepted'
