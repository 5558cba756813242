import type postgres from 'postgres'

/** `_text`, `_uuid`, `_int4`, `_int8`, `_float8`: fixed in every PostgreSQL (src/include/catalog/pg_type.dat). */
const STRINGS = [1009, 2951, 1016]
const NUMBERS = [1007, 1022]

/**
 * The arrays that our queries use, known from the start. The driver would otherwise ask the catalog on every new
 * connection, and when that question fails, as it does when the database goes away at that moment, nobody catches
 * it and the process dies (https://github.com/porsager/postgres/issues/1192).
 */
export const arrayTypes: Record<string, postgres.PostgresType> = Object.fromEntries([
  ...STRINGS.map((oid) => [`array${oid}`, arrayType(oid, (text) => text)]),
  ...NUMBERS.map((oid) => [`array${oid}`, arrayType(oid, Number)]),
])

function arrayType(oid: number, toItem: (text: string) => unknown): postgres.PostgresType {
  return {
    to: oid,
    from: [oid],
    // A statement that the server has to plan anew is sent again by the driver, with what was serialized before.
    serialize: (items: unknown[] | string) =>
      typeof items === 'string' ? items : `{${items.map(quote).join(',')}}`,
    parse: (literal: string) => readItems(literal).map((text) => (text === null ? null : toItem(text))),
  }
}

function quote(item: unknown): string {
  return item === null || item === undefined ? 'null' : `"${String(item).replace(/["\\]/g, '\\$&')}"`
}

/** The items of an array of one dimension, as PostgreSQL writes it: `{a,"b c",NULL}`. */
function readItems(literal: string): (string | null)[] {
  return [...literal.slice(1, -1).matchAll(/"((?:[^"\\]|\\.)*)"|([^,]+)/gs)].map(([, quoted, plain]) => {
    if (quoted !== undefined) return quoted.replace(/\\(.)/gs, '$1')
    return plain === undefined || plain === 'NULL' ? null : plain
  })
}
