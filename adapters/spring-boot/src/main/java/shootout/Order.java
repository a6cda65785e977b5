package shootout;

import jakarta.validation.Valid;
import jakarta.validation.constraints.Email;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotBlank;
import jakarta.validation.constraints.NotNull;
import jakarta.validation.constraints.Pattern;
import jakarta.validation.constraints.Size;
import java.util.List;

/** What is ordered. Days stay text until they are judged: as LocalDate, a wrong one would end the parsing. */
@ToAfterFrom
record Order(
        @NotNull @Valid Customer customer,
        @NotNull @Day String from,
        @NotNull @Day String to,
        @NotNull @Pattern(regexp = "EUR|USD|GBP|CZK") String currency,
        @NotNull @Size(min = 1, max = 20) List<@NotNull @Valid Line> lines,
        @NotNull @Size(min = 1, max = 64) String nonce) {

    record Customer(@NotBlank @Email String email) {}

    record Line(
            @NotNull @Pattern(regexp = "[A-Z]{3}-[0-9]{4}") String sku,
            @NotNull @Min(1) @Max(1000) Integer quantity,
            @NotNull @Min(0) @Max(1_000_000) Integer price) {}

    /** In cents. */
    long total() {
        return lines.stream().mapToLong(line -> (long) line.quantity() * line.price()).sum();
    }
}
