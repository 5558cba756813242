export const CONTENDERS = ['holdfast', 'tanstack', 'source'] as const
export type Contender = (typeof CONTENDERS)[number]
