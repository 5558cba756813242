/** People a visitor can be, to see that what is one person's is nobody else's. */
export const PERSONAS = [
  { name: 'Ada', about: 'Paints with numbers' },
  { name: 'Grace', about: 'Films moths' },
  { name: 'Linus', about: 'Photographs penguins' },
] as const
