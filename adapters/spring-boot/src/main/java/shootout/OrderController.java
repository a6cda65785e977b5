package shootout;

import jakarta.validation.Valid;
import java.util.List;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.springframework.http.ResponseEntity;
import org.springframework.http.converter.HttpMessageNotReadableException;
import org.springframework.validation.FieldError;
import org.springframework.web.bind.MethodArgumentNotValidException;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RestController;
import tools.jackson.core.JacksonException.Reference;
import tools.jackson.databind.exc.MismatchedInputException;

@RestController
class OrderController {
    record Total(long total, String nonce) {}

    record Refused(SortedSet<String> errors) {}

    @PostMapping("/validate")
    Total validate(@Valid @RequestBody Order order) {
        return new Total(order.total(), order.nonce());
    }

    @ExceptionHandler
    ResponseEntity<Refused> invalid(MethodArgumentNotValidException exception) {
        var paths = new TreeSet<String>();
        for (FieldError error : exception.getFieldErrors()) paths.add(path(error.getField()));
        return ResponseEntity.unprocessableContent().body(new Refused(paths));
    }

    /** JSON that does not fit into an order is an order's mistake; what is no JSON, or nothing, a bad request. */
    @ExceptionHandler
    ResponseEntity<Refused> unreadable(HttpMessageNotReadableException exception) {
        if (exception.getCause() instanceof MismatchedInputException mismatch && !mismatch.getPath().isEmpty()) {
            var path = mismatch.getPath().stream().map(OrderController::part).collect(Collectors.joining("."));
            return ResponseEntity.unprocessableContent().body(new Refused(new TreeSet<>(List.of(path))));
        }
        return ResponseEntity.badRequest().build();
    }

    /** {@code lines[0].sku} as {@code lines.0.sku}; an element itself is written {@code lines[0].}. */
    private static String path(String field) {
        return field.replaceAll("\\[(\\d+)]", ".$1").replaceAll("\\.$", "");
    }

    private static String part(Reference reference) {
        return reference.getPropertyName() != null ? reference.getPropertyName() : String.valueOf(reference.getIndex());
    }
}
