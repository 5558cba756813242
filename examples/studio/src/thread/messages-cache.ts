import type { Message } from '@holdfast/shared'
import { createContext, use } from 'react'

/** Messages by conversation, for as long as someone is signed in: going back to a conversation shows it at once. */
export type MessagesCache = Map<string, Message[]>

export const MessagesCacheContext = createContext<MessagesCache>(new Map())

export const useMessagesCache = (): MessagesCache => use(MessagesCacheContext)
