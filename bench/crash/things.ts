/** A task that has ended, how long ago, and what must be left of it when the sweeps have been. */
export interface Thing {
  name: string
  prompt: string
  /** Whether it belongs to a conversation, which shows its result. */
  talkedAbout: boolean
  days: number
  /** Its copy is in the store, but whoever made it died before writing that down. */
  unnoted?: boolean
  left: Left
}

export interface Left {
  /** Its status; null if its row must be gone. */
  task: string | null
  /** The state of the row of its file. */
  file: string | null
  /** Whether the file is in the store. */
  object: boolean
  message: boolean
  key: boolean
}

const PICTURE = 'a lighthouse [fast]'
const FAILURE = 'a lighthouse [fast] [fail]'

/** By the defaults: files for 3 days, rows for 7, of failed ones for 30, keys for 30. */
export const THINGS: readonly Thing[] = [
  {
    name: 'new',
    prompt: PICTURE,
    talkedAbout: true,
    days: 0,
    left: { task: 'completed', file: 'stored', object: true, message: true, key: true },
  },
  {
    name: 'two days old, without a message',
    prompt: PICTURE,
    talkedAbout: false,
    days: 2,
    left: { task: 'completed', file: 'stored', object: true, message: false, key: true },
  },
  {
    name: 'with a file past its time',
    prompt: PICTURE,
    talkedAbout: true,
    days: 4,
    left: { task: 'completed', file: 'deleted', object: false, message: true, key: true },
  },
  {
    name: 'with a file past its time that nobody wrote down',
    prompt: PICTURE,
    talkedAbout: true,
    days: 4,
    unnoted: true,
    left: { task: 'completed', file: 'expired', object: false, message: true, key: true },
  },
  {
    name: 'old',
    prompt: PICTURE,
    talkedAbout: true,
    days: 8,
    left: { task: null, file: 'deleted', object: false, message: true, key: true },
  },
  {
    name: 'old, without a message',
    prompt: PICTURE,
    talkedAbout: false,
    days: 8,
    left: { task: null, file: null, object: false, message: false, key: true },
  },
  {
    name: 'failed a week ago',
    prompt: FAILURE,
    talkedAbout: true,
    days: 8,
    left: { task: 'failed', file: null, object: false, message: false, key: true },
  },
  {
    name: 'failed a month ago',
    prompt: FAILURE,
    talkedAbout: true,
    days: 31,
    left: { task: null, file: null, object: false, message: false, key: false },
  },
]
