import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsEmail,
  IsIn,
  IsInt,
  IsObject,
  IsString,
  isISO8601,
  Length,
  Matches,
  Max,
  Min,
  Validate,
  ValidateNested,
  ValidatorConstraint,
} from 'class-validator';
import type { ValidationArguments, ValidatorConstraintInterface } from 'class-validator';

// An ISO 8601 date, and no more than the date: the library's check also takes a time of day.
const isDate = (value: unknown) => /^\d{4}-\d{2}-\d{2}$/.test(String(value)) && isISO8601(value, { strict: true });

@ValidatorConstraint({ name: 'isDate' })
class IsDay implements ValidatorConstraintInterface {
  validate = isDate;
}

@ValidatorConstraint({ name: 'isAfterFrom' })
class IsAfterFrom implements ValidatorConstraintInterface {
  validate(to: string, { object }: ValidationArguments) {
    const { from } = object as Order;
    return !isDate(from) || !isDate(to) || to > from;
  }
}

class Customer {
  @IsEmail()
  email: string;
}

class Line {
  @Matches(/^[A-Z]{3}-[0-9]{4}$/)
  sku: string;

  @IsInt()
  @Min(1)
  @Max(1000)
  quantity: number;

  @IsInt()
  @Min(0)
  @Max(1_000_000)
  price: number;
}

export class Order {
  @IsObject()
  @ValidateNested()
  @Type(() => Customer)
  customer: Customer;

  @Validate(IsDay)
  from: string;

  @Validate(IsDay)
  @Validate(IsAfterFrom)
  to: string;

  @IsIn(['EUR', 'USD', 'GBP', 'CZK'])
  currency: string;

  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(20)
  @ValidateNested({ each: true })
  @Type(() => Line)
  lines: Line[];

  @IsString()
  @Length(1, 64)
  nonce: string;
}
