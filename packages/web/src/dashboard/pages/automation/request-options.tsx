import { SchemaForm, type SchemaFormProps } from '../../ui/form/schema-form.tsx';

/** The options of a request that are seldom needed, folded away. */
export const RequestOptions = ({ title = 'All options', ...form }: SchemaFormProps & { title?: string }) => (
  <details class="automation-options">
    <summary>{title}</summary>
    <SchemaForm {...form} />
  </details>
);
