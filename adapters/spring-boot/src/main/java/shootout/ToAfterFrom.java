package shootout;

import jakarta.validation.Constraint;
import jakarta.validation.ConstraintValidator;
import jakarta.validation.ConstraintValidatorContext;
import jakarta.validation.Payload;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** The rule over two fields, judged where both are days. It is told at {@code to}. */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Constraint(validatedBy = ToAfterFrom.Judge.class)
@interface ToAfterFrom {
    String message() default "must be after from";

    Class<?>[] groups() default {};

    Class<? extends Payload>[] payload() default {};

    class Judge implements ConstraintValidator<ToAfterFrom, Order> {
        @Override
        public boolean isValid(Order order, ConstraintValidatorContext context) {
            // As text they sort as days do.
            if (!isDay(order.from()) || !isDay(order.to()) || order.to().compareTo(order.from()) > 0) return true;
            context.disableDefaultConstraintViolation();
            context.buildConstraintViolationWithTemplate(context.getDefaultConstraintMessageTemplate())
                    .addPropertyNode("to")
                    .addConstraintViolation();
            return false;
        }

        private static boolean isDay(String text) {
            return text != null && Day.Judge.isDay(text);
        }
    }
}
