export const CONTENDERS = ['holdfast', 'tanstack', 'source'] as const
export type Contender = (typeof CONTENDERS)[number]

/** The contenders, and the limit: the same cards of tasks that nobody has to look for. */
export const SHOWN = [...CONTENDERS, 'bare'] as const
export type Shown = (typeof SHOWN)[number]
