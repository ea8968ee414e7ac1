import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { EventStream } from '../src/index.js';
import { TestTransport } from '../src/testing.js';

// The contract is read here by other means than the generator's.

interface Parameter {
  $ref?: string;
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  'x-sdk'?: boolean; // false: the SDK does not offer it
}

interface Schema {
  $ref?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  anyOf?: Schema[];
  oneOf?: Schema[];
}

interface Operation {
  operationId: string;
  parameters?: Parameter[];
  requestBody?: { $ref?: string; required?: boolean; content: Record<string, { schema: Schema }> };
}

interface Contract {
  paths: Record<string, Record<string, Operation> & { parameters?: Parameter[] }>;
  components: {
    parameters: Record<string, Parameter>;
    schemas: Record<string, Schema>;
    requestBodies: Record<string, Operation['requestBody']>;
  };
}

const read = (path: string): unknown => parse(readFileSync(new URL(path, import.meta.url), 'utf8'));
const contract = read('../../../api/openapi.yaml') as Contract;
const names = read('../../operations.yaml') as Record<string, string | { same_as: string }>;

const camel = (name: string) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
const refName = (ref: string) => ref.slice(ref.lastIndexOf('/') + 1);
const lower = (name: string) => name.charAt(0).toLowerCase() + name.slice(1);

/** An operation with everything that a caller can say. */
interface Case {
  id: string;
  method: string;
  path: string;
  /** The method of the client, such as runs.followUp. */
  name: string;
  /** The arguments of the path, in its order. */
  args: string[];
  query: Parameter[];
  headers: string[];
  body: Operation['requestBody'];
}

function cases(): Case[] {
  return Object.entries(contract.paths).flatMap(([path, item]) =>
    (Object.entries(item) as [string, Operation][])
      .filter(([method]) => method !== 'parameters')
      .flatMap(([method, operation]) => {
        const name = names[operation.operationId];
        if (typeof name === 'object') {
          return [];
        }
        const all = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map((p) =>
          p.$ref ? { ...contract.components.parameters[refName(p.$ref)], shared: lower(refName(p.$ref)) } : p,
        ) as (Parameter & { shared?: string })[];
        const body = operation.requestBody?.$ref
          ? contract.components.requestBodies[refName(operation.requestBody.$ref)]
          : operation.requestBody;
        return {
          id: operation.operationId,
          method: method.toUpperCase(),
          path,
          name: name ? camel(name) : `${operation.operationId} has no name`,
          args: [...path.matchAll(/\{(\w+)\}/g)].map(([, inPath]) => {
            const parameter = all.find((p) => p.in === 'path' && p.name === inPath);
            return parameter?.shared ?? parameter?.name ?? `${inPath} is not declared`;
          }),
          query: all.filter((p) => p.in === 'query' && p['x-sdk'] !== false),
          headers: all.filter((p) => p.in === 'header').map((p) => p.name),
          body,
        };
      }),
  );
}

const all = cases();

function schemaOf(body: Case['body']): Schema {
  const schema = body?.content['application/json']?.schema ?? {};
  return (schema.$ref && contract.components.schemas[refName(schema.$ref)]) || schema;
}

/** Whether the body is a file that is sent as it is. */
const raw = (body: Case['body']) => '*/*' in (body?.content ?? {});

/** A body with what the contract requires. */
function minimal(body: Case['body']): Record<string, unknown> {
  const { required = [], anyOf = [], oneOf = [] } = schemaOf(body);
  return Object.fromEntries([...required, ...([...anyOf, ...oneOf][0]?.required ?? [])].map((name) => [name, 'x']));
}

type Method = (...args: unknown[]) => PromiseLike<unknown> | EventStream<unknown>;

describe('every operation of the contract', () => {
  test('has one method, and no method is none of it', () => {
    const found: string[] = [];
    const visit = (resource: object, path: string) => {
      const prototype = Object.getPrototypeOf(resource) as object;
      for (const name of Object.getOwnPropertyNames(prototype).filter((name) => name !== 'constructor')) {
        found.push(`${path}${name}`);
      }
      for (const [name, value] of Object.entries(resource).filter(([name]) => name !== 'core')) {
        visit(value as object, `${path}${name}.`);
      }
    };
    for (const [name, resource] of Object.entries(new TestTransport().client())) {
      visit(resource as object, `${name}.`);
    }
    expect(found.sort()).toEqual(all.map(({ name }) => name).sort());
    expect(all.length).toBeGreaterThan(60);
  });

  test.each(all)('is sent as the contract says: $name', async ({ method, path, name, args, query, headers, body }) => {
    const server = new TestTransport();
    const client = server.client({ maxRetries: 0 });
    const values = args.map((_, i) => `value ${i}`);
    const asked = Object.fromEntries(query.map((p) => [p.name, p.name === 'after' ? 5 : p.name === 'metadata' ? { k: 'v' } : 'q']));
    const given = [
      ...values,
      ...(body ? [raw(body) ? new Blob(['x']) : minimal(body)] : []),
      ...(query.length > 0 ? [asked] : []),
      { source: 'CLI' },
    ];
    const [resource, last] = [name.split('.').slice(0, -1), name.split('.').at(-1) ?? ''];
    const owner = resource.reduce<unknown>((o, key) => (o as Record<string, unknown>)[key], client) as Record<string, Method>;
    const result = owner[last]?.(...given);
    if (result && Symbol.asyncIterator in result && !('then' in result)) {
      await result[Symbol.asyncIterator]()
        .next()
        .catch(() => undefined);
    } else {
      await Promise.resolve(result).catch(() => undefined);
    }

    const request = server.requests[0];
    const filled = path.replace(/\{\w+\}/g, () => encodeURIComponent(values.shift() ?? ''));
    expect(`${request?.method} ${request?.path}`).toBe(`${method} ${filled}`);
    const sent = [...new Set([...(request?.query.keys() ?? [])].map((key) => key.replace(/\[.*/, '')))];
    expect(sent).toEqual(query.map((p) => p.name));
    const sentHeaders = ['Idempotency-Key', 'X-Penstock-Source', 'Last-Event-ID'].filter((key) => request?.headers.has(key));
    expect(sentHeaders.sort()).toEqual([...headers].sort());
    expect(request?.body).toEqual(raw(body) ? await new Blob(['x']).arrayBuffer() : body && minimal(body));
  });

  test.each(all.filter((c) => c.body?.required && Object.keys(minimal(c.body)).length > 0))(
    'needs what the contract requires: $name',
    async ({ name, args, body }) => {
      const server = new TestTransport();
      const [resource, last] = [name.split('.').slice(0, -1), name.split('.').at(-1) ?? ''];
      const owner = resource.reduce<unknown>((o, key) => (o as Record<string, unknown>)[key], server.client()) as Record<string, Method>;
      const call = Promise.resolve(owner[last]?.(...args.map(() => 'x'), {}) as PromiseLike<unknown>);
      // A body of several kinds is the server's to judge.
      if (Object.keys(body?.content ?? {}).length === 1) {
        await expect(call).rejects.toThrow('required');
        expect(server.requests).toEqual([]);
      } else {
        await call.catch(() => undefined);
      }
    },
  );
});

describe('the types', () => {
  const program = ts.createProgram([fileURLToPath(new URL('../src/index.ts', import.meta.url))], {
    strict: true,
    exactOptionalPropertyTypes: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
    types: [],
  });
  const checker = program.getTypeChecker();
  const source = (name: string) => {
    const file = program.getSourceFiles().find((file) => file.fileName.endsWith(`/src/${name}`));
    const symbol = file && checker.getSymbolAtLocation(file);
    return new Map(symbol ? checker.getExportsOfModule(symbol).map((s) => [s.name, s]) : []);
  };
  const types = source('types.gen.ts');
  const classes = source('resources.gen.ts');

  const membersOf = (type: ts.Type) =>
    Object.fromEntries(checker.getPropertiesOfType(type).map((p) => [p.name, (p.flags & ts.SymbolFlags.Optional) === 0]));

  test('cover every schema, with its fields and which of them are required', () => {
    const want = Object.entries(contract.components.schemas);
    expect(want.map(([name]) => name).filter((name) => !types.has(name))).toEqual([]);
    for (const [name, schema] of want.filter(([, schema]) => schema.properties)) {
      const symbol = types.get(`${name}Fields`) ?? types.get(name);
      const got = symbol ? membersOf(checker.getDeclaredTypeOfSymbol(symbol)) : {};
      const fields = Object.keys(schema.properties ?? {}).map((field) => [field, schema.required?.includes(field) ?? false]);
      expect({ [name]: got }).toEqual({ [name]: Object.fromEntries(fields) });
    }
  });

  test.each(all)('are those of the parameters: $name', ({ id, name, args, query, body }) => {
    const resource = name.split('.').slice(0, -1);
    const symbol = classes.get(`${resource.map((part) => part.charAt(0).toUpperCase() + part.slice(1)).join('')}Resource`);
    const method = symbol && checker.getDeclaredTypeOfSymbol(symbol).getProperty(name.split('.').at(-1) ?? '');
    const signature = method?.valueDeclaration && checker.getTypeOfSymbolAtLocation(method, method.valueDeclaration).getCallSignatures()[0];
    const got = signature?.getParameters().map((parameter) => parameter.name);
    expect(got).toEqual([...args, ...(body ? [raw(body) ? 'content' : 'body'] : []), ...(query.length > 0 ? ['query'] : []), 'options']);
    if (query.length > 0) {
      const type = types.get(`${id.charAt(0).toUpperCase()}${id.slice(1)}Query`);
      const want = Object.fromEntries(query.map((p) => [p.name, p.required ?? false]));
      expect(type ? membersOf(checker.getDeclaredTypeOfSymbol(type)) : {}).toEqual(want);
    }
  });
});
