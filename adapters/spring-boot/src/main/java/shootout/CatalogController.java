package shootout;

import jakarta.validation.constraints.Pattern;
import jakarta.validation.constraints.Positive;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.json.JsonMapper;

/** Filters, sorts and pages the items at every request. Spring refuses parameters that do not fit with 400. */
@RestController
class CatalogController {
    private static final int PAGE_SIZE = 20;
    private static final Comparator<Item> BY_PRICE = Comparator.comparingInt(Item::price).thenComparingInt(Item::id);

    record Item(int id, String sku, String name, String category, int price, int stock, int rating, String description) {}

    record Page(int total, int page, List<Item> items, String nonce) {}

    private final List<Item> items;

    CatalogController(JsonMapper mapper) {
        items = mapper.readValue(Path.of("data/catalog/items.json"), new TypeReference<>() {});
    }

    @GetMapping("/catalog")
    Page catalog(
            @RequestParam String category,
            @RequestParam("max_price") @Positive int maxPrice,
            @RequestParam(defaultValue = "price") @Pattern(regexp = "price") String sort,
            @RequestParam @Positive int page,
            @RequestParam String nonce) {
        var found = items.stream()
                .filter(item -> item.category().equals(category) && item.price() <= maxPrice)
                .sorted(BY_PRICE)
                .toList();
        var shown = found.stream().skip((page - 1L) * PAGE_SIZE).limit(PAGE_SIZE).toList();
        return new Page(found.size(), page, shown, nonce);
    }
}
