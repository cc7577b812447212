/** What html-validate finds wrong in a page, by the HTML standard and the rules of WCAG that need no browser. */
import { HtmlValidate } from 'html-validate';

const validate = new HtmlValidate({
  extends: ['html-validate:standard', 'html-validate:a11y'],
  rules: {
    // A table that is wider than the screen is scrolled with the keyboard: it needs a region, which is no section.
    'prefer-native-element': ['error', { exclude: ['region', 'img'] }],
    // Taken literally, the quotes of the policy are no style.
    'no-inline-style': 'error',
  },
});

export async function problemsOf(page: string): Promise<string[]> {
  const { results } = await validate.validateString(page);
  return results.flatMap(({ messages }) =>
    messages.map(({ line, column, ruleId, message }) => `${line}:${column} ${ruleId}: ${message}`),
  );
}
