import type { Part } from '../engines/engine.ts'

/** What of the studio is worked with, by the names it is read out by. */
export const PROMPT: Part = { role: 'textbox', name: 'Prompt' }
export const OWN_NAME: Part = { role: 'textbox', name: 'Or be someone else' }
export const CONTINUE: Part = { role: 'button', name: 'Continue', exact: true }
export const ACCOUNT: Part = { role: 'button', name: /^Account/ }
export const LOG_OUT: Part = { role: 'button', name: /^Log out/ }
export const SIGN_IN_HEADING: Part = { role: 'heading', name: 'Who are you today?' }
export const cardOf = (prompt: string): Part => ({ role: 'article', name: prompt, exact: true })
