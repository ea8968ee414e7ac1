import { expect, test } from 'vitest';
import { queryOf } from './subject.ts';

test('the address carries the filters of the API', () => {
  expect(queryOf({ subject: 'acme/shop#7', factory_uid: ['f', 'g'], cursor: 'c', tab: 'x', automation_uid: '' })).toEqual({
    limit: 50,
    subject: 'acme/shop#7',
    factory_uid: 'f',
    cursor: 'c',
  });
});
