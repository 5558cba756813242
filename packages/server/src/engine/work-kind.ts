/** The steps that the engine takes against a provider. */
export type WorkKind = 'submit' | 'poll' | 'cancel'

/** What a provider's limits are given for. */
export type Operation = 'create' | 'query'

/** Which limit each kind of step is counted against. */
export const OPERATION_OF: Record<WorkKind, Operation> = { submit: 'create', poll: 'query', cancel: 'query' }
