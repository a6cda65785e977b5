package shootout;

import jakarta.validation.Constraint;
import jakarta.validation.ConstraintValidator;
import jakarta.validation.ConstraintValidatorContext;
import jakarta.validation.Payload;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.util.regex.Pattern;

/** YYYY-MM-DD, a day that exists. Absent ones are left to {@code @NotNull}, as is the custom. */
@Target(ElementType.FIELD)
@Retention(RetentionPolicy.RUNTIME)
@Constraint(validatedBy = Day.Judge.class)
@interface Day {
    String message() default "must be a day";

    Class<?>[] groups() default {};

    Class<? extends Payload>[] payload() default {};

    class Judge implements ConstraintValidator<Day, String> {
        // LocalDate also takes signs and longer years.
        private static final Pattern FORM = Pattern.compile("\\d{4}-\\d{2}-\\d{2}");

        @Override
        public boolean isValid(String text, ConstraintValidatorContext context) {
            return text == null || isDay(text);
        }

        static boolean isDay(String text) {
            if (!FORM.matcher(text).matches()) return false;
            try {
                LocalDate.parse(text);
                return true;
            } catch (DateTimeException e) {
                return false;
            }
        }
    }
}
