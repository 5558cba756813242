import type { TabMessage } from '../../tabs/tab-message.ts'
import { shortId } from './short-id.ts'

const plural = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`

/** What one tab tells the others, as a person would say it. */
export function messageText(message: TabMessage): string {
  switch (message.kind) {
    case 'ping':
      return message.to === null ? 'Is there a leader?' : `Tab ${shortId(message.to)}, are you there?`
    case 'pong':
      return `Tab ${shortId(message.to)}, I am here${message.leads ? ` and lead, epoch ${message.epoch}` : ''}.`
    case 'offer':
      return 'I lead and am hidden. Would a visible tab like to lead?'
    case 'claim':
      return 'I am visible and would like to lead.'
    case 'yours':
      return `Tab ${shortId(message.to)}, the lead is yours.`
    case 'bye':
      return 'I have let go of the lead.'
    case 'logout':
      return message.forget ? 'The user signed out: forget everything.' : 'The user signed out.'
    case 'hello':
      return 'I am new here: tell me everything.'
    case 'states': {
      const gone = message.gone.length > 0 ? `, ${message.gone.length} gone` : ''
      return `${message.complete ? 'Everything' : 'News'}: ${plural(message.tasks.length, 'task')}${gone}, epoch ${message.epoch}.`
    }
    case 'task': {
      const { type, id, status, progress } = message.task
      return `${type} ${shortId(id)} is ${status}${progress === null ? '' : ` at ${progress}%`}.`
    }
    case 'conversations':
      return `${plural(message.conversations.length, 'conversation')} changed.`
    case 'outbox':
      return 'What waits to be sent has changed.'
    default:
      return 'Something this version does not know.'
  }
}
